// The contrasts of all words that are shown, by WCAG 2.2 (1.4.3); the lowest first.
function parsed(text) {
  const [r, g, b, a = 1] = text.match(/[\d.]+/g).map(Number);
  return text.startsWith("color(srgb") ? [255 * r, 255 * g, 255 * b, a] : [r, g, b, a];
}

function over([r, g, b, a], [R, G, B]) {
  return [r * a + R * (1 - a), g * a + G * (1 - a), b * a + B * (1 - a), 1];
}

function luminance(colour) {
  const [r, g, b] = colour.slice(0, 3).map((part) => {
    const x = part / 255;
    return x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function ground(element) {
  const below = element.parentElement ? ground(element.parentElement) : [255, 255, 255, 1];
  return over(parsed(getComputedStyle(element).backgroundColor), below);
}

// Colours that are on their way to another one.
document.head.appendChild(document.createElement("style")).textContent =
  "*, *::before, *::after { transition: none !important; }";

const found = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const words = walker.currentNode.textContent.trim();
  const element = walker.currentNode.parentElement;
  if (!words || ["SCRIPT", "STYLE", "NOSCRIPT", "TITLE"].includes(element.tagName)) continue;
  const shown = { opacityProperty: true, visibilityProperty: true };
  if (!element.checkVisibility(shown) || !element.getClientRects().length) continue;
  if (element.closest("mjx-container")) continue;  // drawn in the colour around it
  if (element.closest(".sk-top-container")) continue;  // scikit-learn's diagram, in its colours
  const style = getComputedStyle(element);
  const behind = ground(element);
  const ink = element.closest("svg") ? style.fill : style.color;
  const [dark, light] = [luminance(over(parsed(ink), behind)), luminance(behind)].sort(
    (one, other) => one - other);
  const size = parseFloat(style.fontSize);
  const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
  const contrast = (light + 0.05) / (dark + 0.05);
  if (contrast < (large ? 3 : 4.5)) {
    found.push([contrast.toFixed(2), words.slice(0, 40), ink, behind.map(Math.round).join(), element.className]);
  }
}
return found.sort((one, other) => one[0] - other[0]);
