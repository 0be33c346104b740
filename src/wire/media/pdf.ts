/** How many pages a PDF has, to any reader. */
import { PdfObjects } from './pdf-objects.ts';
import { areReferencesSound } from './pdf-references.ts';
import { type PdfDictionary, Reference } from './pdf-syntax.ts';

/** Page trees have some three levels. */
const MAX_LEVELS = 64;

/**
 * The most pages that any PDF reader could find, or undefined if it cannot be told: the file is encrypted, changed
 * after it was written, damaged, has forms or files that bring pages of their own, or is unlike what common producers
 * write. Readers differ in how they mend such files, so none of it is mended here. A reading takes up to 0.1 s of a
 * core, for a file of few KB as well, since those can inflate: whoever reads several bounds how many.
 */
export function pdfPages(bytes: Buffer): number | undefined {
  if (bytes.toString('latin1', 0, 5) !== '%PDF-') return undefined;
  const objects = PdfObjects.read(bytes);
  if (objects === undefined || !areReferencesSound(objects)) return undefined;
  return new PageTrees(objects).pages();
}

class PageTrees {
  readonly #objects: PdfObjects;
  readonly #seen = new Set<number>();

  constructor(objects: PdfObjects) {
    this.#objects = objects;
  }

  /** The pages of all trees, and pages in none: some readers collect those when a tree is broken. */
  pages(): number | undefined {
    let pages = this.#inTrees();
    if (pages === undefined) return undefined;
    const declared = new Set<unknown>();
    for (const [number, { value }] of this.#objects.entries()) {
      if (!(value instanceof Map)) continue;
      // Poppler takes the pages of a file for the web from here.
      if (value.has('/Linearized')) declared.add(value.get('/N'));
      if (this.#seen.has(number)) continue;
      const type = this.#objects.resolve(value.get('/Type'));
      if (type === '/Pages') return undefined;
      if (type === '/Page') pages++;
    }
    declared.delete(pages);
    return pages > 0 && declared.size === 0 ? pages : undefined;
  }

  #inTrees(): number | undefined {
    const roots = new Set<number>();
    for (const [, { value }] of this.#objects.entries()) {
      const root = value instanceof Map ? value.get('/Pages') : undefined;
      if (root === undefined) continue;
      if (!(root instanceof Reference)) return undefined;
      roots.add(root.number);
    }
    let pages = 0;
    for (const root of roots) {
      const value = this.#objects.get(root)?.value;
      const below = value instanceof Map && value.get('/Type') === '/Pages' ? this.#below(root) : undefined;
      if (below === undefined) return undefined;
      pages += below;
    }
    return pages;
  }

  /**
   * The pages at and below a node. Undefined if a node has two parents, or is not plainly a page or a parent of pages.
   */
  #below(number: number, level = 0): number | undefined {
    const value = this.#objects.get(number)?.value;
    if (!(value instanceof Map) || this.#seen.has(number) || level > MAX_LEVELS) return undefined;
    this.#seen.add(number);
    if (value.get('/Type') === '/Page') return value.has('/Kids') || value.has('/Count') ? undefined : 1;
    return value.get('/Type') === '/Pages' ? this.#ofParent(value, level) : undefined;
  }

  /** PDFium and MuPDF go by the count that is written there, so it has to be right. */
  #ofParent(parent: PdfDictionary, level: number): number | undefined {
    const kids = this.#objects.resolve(parent.get('/Kids'));
    if (!Array.isArray(kids)) return undefined;
    let pages = 0;
    for (const kid of kids) {
      const below = kid instanceof Reference ? this.#below(kid.number, level + 1) : undefined;
      if (below === undefined) return undefined;
      pages += below;
    }
    return this.#objects.resolve(parent.get('/Count')) === pages ? pages : undefined;
  }
}
