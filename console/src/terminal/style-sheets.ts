const XHTML = "http://www.w3.org/1999/xhtml";

/**
 * Has what creates <style> elements meanwhile create style sheets of the document instead. xterm.js
 * writes such elements, whose text a strict Content-Security-Policy takes for inline style and does not
 * apply; a style sheet that a script has constructed is none.
 */
export function withConstructedStyleSheets(work: () => void): void {
  const createElement = (name: string): Element =>
    name === "style" ? styleElement() : document.createElementNS(XHTML, name);
  // It stands before the prototype's for that long.
  Object.defineProperty(document, "createElement", { value: createElement, configurable: true });
  try {
    work();
  } finally {
    Reflect.deleteProperty(document, "createElement");
  }
}

/** An element whose text is that of a style sheet, which goes with the element. */
function styleElement(): Element {
  const element = document.createElementNS(XHTML, "template");
  const sheet = new CSSStyleSheet();
  document.adoptedStyleSheets.push(sheet);
  Object.defineProperty(element, "textContent", {
    set(text: string) {
      sheet.replaceSync(text);
    },
  });
  const remove = element.remove.bind(element);
  element.remove = () => {
    remove();
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((other) => other !== sheet);
  };
  return element;
}
