// Checks of accessibility. Evaluates to functions that list what is wrong.
(() => {
  const parse = (text) => {
    const [r, g, b, a = 1] = text.match(/[\d.]+/g).map(Number);
    return [r, g, b, a];
  };
  const over = (top, below) => [0, 1, 2].map((at) => top[at] * top[3] + below[at] * (1 - top[3])).concat(1);
  const groundOf = (node) =>
    node ? over(parse(getComputedStyle(node).backgroundColor), groundOf(node.parentElement)) : [255, 255, 255, 1];
  const linear = (x) => (x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => 0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
  const hasText = (node) => [...node.childNodes].some((child) => child.nodeType === 3 && child.textContent.trim());

  // Visible texts whose contrast with their background is below 4.5 to 1, by the formulas of WCAG 2.
  function contrasts() {
    const scope = document.querySelector("dialog[open]") ?? document.body;
    const texts = [...scope.querySelectorAll("*")].filter(
      (node) => hasText(node) && node.checkVisibility() && !node.closest(".hidden"),
    );
    const found = texts.length > 5 ? [] : ["too few texts to judge"];
    for (const node of texts) {
      const style = getComputedStyle(node);
      const ground = groundOf(node);
      const ink = light(over(parse(node instanceof SVGElement ? style.fill : style.color), ground));
      const ratio = (Math.max(ink, light(ground)) + 0.05) / (Math.min(ink, light(ground)) + 0.05);
      if (ratio < 4.5) found.push(`${node.outerHTML.slice(0, 80)} ${ratio.toFixed(2)}`);
    }
    return found;
  }

  const byId = (node, attribute) => document.getElementById(node.getAttribute(attribute));
  const isNamed = (node) =>
    node.getAttribute("aria-label") ||
    node.labels?.length ||
    node.textContent.trim() ||
    node.hasAttribute("alt") ||
    byId(node, "aria-labelledby")?.textContent;

  // Elements without a name, with a dangling reference, out of order, or too small to hit.
  function unnamed() {
    const found = [];
    const bad = (words, node) => found.push(`${words}: ${node?.outerHTML.slice(0, 100)}`);
    const kinds = "button, input, select, textarea, a, img, svg[role], dialog, nav, section, [role=region]";
    for (const node of document.querySelectorAll(kinds)) if (!isNamed(node)) bad("no name", node);
    for (const attribute of ["aria-labelledby", "aria-describedby", "for"])
      for (const node of document.querySelectorAll(`[${attribute}]`)) if (!byId(node, attribute)) bad(attribute, node);
    const ids = [...document.querySelectorAll("[id]")].map((node) => node.id);
    if (new Set(ids).size < ids.length) bad(`ids that are there twice: ${ids}`);
    if (document.querySelectorAll("main h1").length !== 1) bad("not one heading");
    if (document.documentElement.lang !== "en") bad("no language");
    for (const node of document.querySelectorAll("[tabindex]")) if (node.tabIndex > 0) bad("an order of its own", node);
    for (const node of document.querySelectorAll("button")) {
      const { width, height } = node.getBoundingClientRect();
      if (node.checkVisibility() && Math.min(width, height) < 24) bad("too small", node);
    }
    return found;
  }

  return { contrasts, unnamed };
})()
