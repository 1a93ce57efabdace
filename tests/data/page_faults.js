() => {
  const found = [], seen = (e) => e.getClientRects().length && getComputedStyle(e).visibility !== "hidden";
  const text = (e) => (e.getAttribute("aria-label") ?? e.labels?.[0]?.textContent ?? e.textContent ?? "").trim() || e.title;
  for (const e of document.querySelectorAll("a[href], button, input, select, summary, [tabindex='0']"))
    if (seen(e) && !text(e)) found.push(`no name: ${e.outerHTML.slice(0, 120)}`);
  const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
  for (const id of new Set(ids.filter((each, i) => ids.indexOf(each) !== i))) found.push(`twice: #${id}`);
  for (const e of document.querySelectorAll("[aria-describedby], label[for]")) {
    const id = e.getAttribute("aria-describedby") ?? e.htmlFor;
    if (!document.getElementById(id)) found.push(`leads nowhere: ${id}`);
  }
  let level = 0;
  for (const e of document.querySelectorAll("h1, h2, h3, h4")) if (seen(e)) {
    const own = Number(e.tagName[1]);
    if (own > level + 1) found.push(`heading jumps: ${e.textContent}`);
    level = own;
  }
  const light = (colour) => {
    const [r, g, b] = colour.match(/[\d.]+/g).map(Number).map((v) => v / 255).map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (e) => {
    for (; e; e = e.parentElement) {
      const colour = getComputedStyle(e).backgroundColor;
      if (!/, 0\)$|transparent/.test(colour)) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const words = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (words.nextNode()) {
    const e = words.currentNode.parentElement;
    if (!words.currentNode.data.trim() || !seen(e) || e.closest(".unseen, script, noscript, :disabled")) continue;
    const style = getComputedStyle(e), [a, b] = [light(e.closest("svg") ? style.fill : style.color), light(ground(e))];
    if ((Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) < 4.5) found.push(`faint: ${words.currentNode.data.slice(0, 40)}`);
  }
  if (document.documentElement.scrollWidth > innerWidth) found.push(`wide: ${document.documentElement.scrollWidth}`);
  for (const e of document.querySelectorAll("main *"))
    if (!e.closest(".scroll, pre, .unseen, svg g") && e.getBoundingClientRect().right > innerWidth + 1) found.push(`beyond the edge: ${e.outerHTML.slice(0, 80)}`);
  return [...new Set(found)];
}
