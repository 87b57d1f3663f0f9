// Dark or light: as the system has it, until somebody chooses.

const PLACE = "superarm-theme";
const dark = matchMedia("(prefers-color-scheme: dark)");

const now = () => localStorage.getItem(PLACE) ?? (dark.matches ? "dark" : "light");

function apply() {
  document.documentElement.dataset.theme = now();
  const button = document.getElementById("theme");
  button?.setAttribute("aria-label", now() === "dark" ? "Switch to light colours" : "Switch to dark colours");
}

export function toggleTheme() {
  const other = now() === "dark" ? "light" : "dark";
  // What the system has anyway need not be remembered.
  if (other === (dark.matches ? "dark" : "light")) localStorage.removeItem(PLACE);
  else localStorage.setItem(PLACE, other);
  apply();
}

dark.addEventListener("change", apply);
apply();
