// Light and dark.

/** Follow the system's light or dark setting and the button; paper is light, and everything on it is drawn. */
function theme(repaint) {
  const button = byId("theme");
  const preference = window.matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => document.documentElement.dataset.theme === "dark";
  const use = (dark, everything = false) => {
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    button.setAttribute("aria-pressed", String(dark));
    repaint(everything);
  };
  button.addEventListener("click", () => use(!isDark()));
  let onScreen = false;
  window.addEventListener("beforeprint", () => {
    onScreen = isDark();
    use(false, true);
  });
  window.addEventListener("afterprint", () => use(onScreen));
  preference.addEventListener("change", () => use(preference.matches));
  use(preference.matches);
}
