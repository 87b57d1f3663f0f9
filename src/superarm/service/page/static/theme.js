// Dark or light colours: those of the system, until somebody chooses.

import { useEffect, useState } from "./html.js";

const SETTING = "superarm-theme";
const dark = matchMedia("(prefers-color-scheme: dark)");

const ofSystem = () => (dark.matches ? "dark" : "light");
const current = () => localStorage.getItem(SETTING) ?? ofSystem();

/**
 * The current theme, and a function that switches it.
 * @returns {[string, () => void]}
 */
export function useTheme() {
  const [theme, setTheme] = useState(current);
  useEffect(() => {
    document.documentElement.dataset.theme = theme;
  }, [theme]);
  useEffect(() => {
    const update = () => setTheme(current());
    dark.addEventListener("change", update);
    return () => dark.removeEventListener("change", update);
  }, []);

  const toggle = () => {
    const other = current() === "dark" ? "light" : "dark";
    // The setting of the system need not be remembered.
    if (other === ofSystem()) localStorage.removeItem(SETTING);
    else localStorage.setItem(SETTING, other);
    setTheme(other);
  };
  return [theme, toggle];
}
