import { beforeEach, describe, expect, it, vi } from 'vitest';

// The real removeMath and replaceMath need a browser's worth of JupyterLab; these tests are about what may become an element.
vi.mock('@jupyterlab/rendermime', () => ({ removeMath: (text: string) => ({ text, math: [] }), replaceMath: (html: string) => html }));
import { renderProse, withoutTags } from '../src/prose';
import { PAYLOAD } from './views';

let host: HTMLElement;
beforeEach(() => (host = document.createElement('div')) && undefined);

/** The worst surroundings: a parser that passes HTML on, and a sanitizer that lets it through. */
const OPEN = {
  markdownParser: { render: async (source: string) => source },
  sanitizer: { sanitize: (html: string) => html },
  latexTypesetter: null,
  resolver: null,
  linkHandler: null
} as never;

describe('Markdown of a model', () => {
  it('makes only elements of the list, without handlers and addresses, even if parser and sanitizer let all through', async () => {
    const html = `<p onclick="x()">a <b style="position:fixed">b</b></p><iframe src="https://x.example"></iframe><custom>kept text</custom>`;
    const parser = { ...(OPEN as object), markdownParser: { render: async () => html + PAYLOAD } } as never;
    await renderProse(host, 'ignored', parser);
    expect(host.innerHTML).toBe('<p>a <b>b</b></p>kept text[image: ] (x)');
  });

  it('loads no picture and follows no dangerous link', async () => {
    const html = '<img src="https://x.example/?leak" alt="pic"><a href="javascript:alert(1)">j</a><a href="https://ok.example/">k</a>';
    await renderProse(host, '', { ...(OPEN as object), markdownParser: { render: async () => html } } as never);
    expect(host.querySelector('img')).toBeNull();
    const links = [...host.querySelectorAll('a')];
    expect(links.map(link => link.getAttribute('href'))).toEqual([null, 'https://ok.example/']);
    expect(links[1].rel).toBe('noopener noreferrer');
  });

  it('tags in the source are characters, but not in code', () => {
    expect(withoutTags('a <b>x</b> `<i>` < 3')).toBe('a &lt;b>x&lt;/b> `<i>` < 3');
    expect(withoutTags('```html\n<b>\n```\n<b>')).toBe('```html\n<b>\n```\n&lt;b>');
  });
});
