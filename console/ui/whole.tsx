import { type ComponentChildren, toChildArray } from 'preact';
import { jsxTemplate } from 'preact/jsx-runtime';
import { render } from 'preact-render-to-string';

/**
 * Parts of a page, each made to text by itself, for lists that may be long. Without it a page is one string of a hundred thousand pieces until
 * its end, all of which the collector copies again and again.
 */
export const EachWhole = ({ children }: { readonly children: ComponentChildren }) =>
  jsxTemplate([
    toChildArray(children)
      .map((child) => render(<>{child}</>))
      .join(''),
  ]);
