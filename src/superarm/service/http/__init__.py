"""The service over HTTP: endpoints, their bodies and answers, keys and limits."""
