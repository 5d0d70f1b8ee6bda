import { removeMath, replaceMath } from '@jupyterlab/rendermime';
import { IRenderMime } from '@jupyterlab/rendermime-interfaces';

/** What Markdown may become. Anything else loses its element and keeps its text. */
const ELEMENTS = new Set(
  (
    'p br hr h1 h2 h3 h4 h5 h6 strong em b i del s code pre span div blockquote ul ol li table thead tbody tr th td a sup sub ' +
    'input'
  ).split(' ')
);
const DROPPED = new Set(['script', 'style', 'template', 'svg', 'math', 'iframe', 'object', 'noscript', 'title', 'textarea']);
const SCHEME = /^\s*([a-z][a-z0-9+.-]*):/i;

type Tools = Pick<
  IRenderMime.IRendererOptions,
  'markdownParser' | 'sanitizer' | 'latexTypesetter' | 'resolver' | 'linkHandler'
>;

/**
 * Draw text that a model wrote as Markdown, with math and coloured code.
 *
 * Raw HTML is shown as the characters it is, and no address in the text is loaded: a picture becomes its name and address. The
 * parser's HTML goes through the sanitizer into a document that is no page, and only elements of the list above are made anew
 * from it, so nothing depends on one of the three alone.
 */
export async function renderProse(host: HTMLElement, source: string, tools: Tools): Promise<void> {
  if (!tools.markdownParser) {
    host.textContent = source;
    host.classList.add('tt-run-plain');
    return;
  }
  const { text, math } = removeMath(withoutTags(source));
  const html = replaceMath(await tools.markdownParser.render(text), math);
  const page = new DOMParser().parseFromString(tools.sanitizer.sanitize(html), 'text/html');
  copyChildren(page.body, host, tools);
  tools.latexTypesetter?.typeset(host);
}

const FENCE = /^ {0,3}(`{3,}|~{3,})/;

/** Markdown in which `<` outside of code cannot begin a tag. Where code ends is the parser's decision; the list above is what holds. */
export function withoutTags(source: string): string {
  let fence = '';
  const safe = source.split('\n').map(line => {
    const found = FENCE.exec(line)?.[1];
    if (fence) {
      if (found && found[0] === fence[0] && found.length >= fence.length && !line.trim().slice(found.length).trim()) {
        fence = '';
      }
      return line;
    }
    if (found) {
      fence = found;
      return line;
    }
    return line
      .split(/(`+[^`]+`+)/)
      .map((part, n) => (n % 2 ? part : part.replace(/<(?=[a-z/!?])/gi, '&lt;')))
      .join('');
  });
  return safe.join('\n');
}

function copyChildren(from: Node, to: HTMLElement, tools: Tools): void {
  for (const child of from.childNodes) {
    if (child.nodeType === Node.TEXT_NODE) {
      to.append(document.createTextNode(child.textContent ?? ''));
    } else if (child instanceof Element || child.nodeType === Node.ELEMENT_NODE) {
      copyElement(child as Element, to, tools);
    }
  }
}

function copyElement(from: Element, to: HTMLElement, tools: Tools): void {
  const tag = from.localName;
  if (tag === 'img') {
    to.append(document.createTextNode(`[image: ${from.getAttribute('alt') ?? ''}] (${from.getAttribute('src') ?? ''})`));
  } else if (tag === 'input') {
    to.append(document.createTextNode(from.hasAttribute('checked') ? '☑ ' : '☐ ')); // a task list
  } else if (ELEMENTS.has(tag)) {
    const node = document.createElement(tag);
    decorate(from, node, tools);
    copyChildren(from, node, tools);
    to.append(node);
  } else if (!DROPPED.has(tag)) {
    copyChildren(from, to, tools);
  }
}

function decorate(from: Element, node: HTMLElement, tools: Tools): void {
  const inCode = from.closest('pre') !== null;
  const classes = (from.getAttribute('class') ?? '').split(/\s+/).filter(name => inCode && /^(ͼ|tok-|cm-)/.test(name));
  node.classList.add(...classes); // the colours of code
  const align = from.getAttribute('align') ?? (from instanceof HTMLElement ? from.style.textAlign : '');
  if (/^(left|right|center)$/.test(align)) {
    node.style.textAlign = align;
  }
  if (node instanceof HTMLAnchorElement) {
    link(node, from.getAttribute('href') ?? '', tools);
  }
}

function link(anchor: HTMLAnchorElement, target: string, tools: Tools): void {
  const scheme = SCHEME.exec(target)?.[1]?.toLowerCase();
  if (scheme && ['http', 'https', 'mailto'].includes(scheme)) {
    anchor.href = target;
    anchor.target = '_blank';
    anchor.rel = 'noopener noreferrer';
    anchor.title = target;
  } else if (!scheme && !/^[/\\#]/.test(target) && target) {
    openLocal(anchor, target, tools);
  }
}

/** Make a link open a file beside the notebook in JupyterLab. `path` is part of an address. */
export function openLocal(anchor: HTMLAnchorElement, path: string, tools: Pick<Tools, 'resolver' | 'linkHandler'>): void {
  const { resolver, linkHandler } = tools;
  if (!resolver) {
    return;
  }
  anchor.href = '#';
  resolver
    .resolveUrl(path)
    .then(found => {
      linkHandler?.handleLink(anchor, decodeURIComponent(found), '');
      return resolver.getDownloadUrl(found);
    })
    .then(
      url => (anchor.href = url),
      () => anchor.removeAttribute('href')
    );
}
