// Runs before the first drawing, so that the page does not flash in wrong colours: see theme.js.

document.documentElement.dataset.theme = localStorage.getItem("superarm-theme") ?? "";
