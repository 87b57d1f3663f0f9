// Runs before the first drawing, so that the page does not flash in the wrong colours. See theme.js.

document.documentElement.dataset.theme = localStorage.getItem("superarm-theme") ?? "";
