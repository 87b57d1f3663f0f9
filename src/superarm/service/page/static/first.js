// Runs before anything is drawn, so that chosen colours do not flash: see theme.js.

document.documentElement.dataset.theme = localStorage.getItem("superarm-theme") ?? "";
