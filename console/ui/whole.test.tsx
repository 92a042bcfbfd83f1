import { describe, expect, it } from '@jest/globals';
import { render } from 'preact-render-to-string';
import { Foreign, Table } from './parts.js';
import { EachWhole } from './whole.js';

describe('parts that are made to text by themselves', () => {
  it.each([
    ['nothing', null],
    ['text, which stays text', '<b>&"'],
    ['a number', 0],
    ['what is left out', [false, null, undefined, '']],
    [
      'elements, components and lists within lists',
      [<p key="a">one &amp; two</p>, [<Foreign key="b" text="<i>‮" />, ['x', 7]], <input key="c" disabled value="'" />],
    ],
    [
      'a choice of a form',
      <select key="s" value="b">
        <option value="a">a</option>
        <option value="b">b</option>
      </select>,
    ],
  ])('say the same as otherwise: %s', (_what, children) => {
    expect(render(<EachWhole>{children}</EachWhole>)).toBe(render(<>{children}</>));
  });

  it('are one text within an element, where everything else is pieces', () => {
    const rows = [<tr key="1" />, <tr key="2" />];
    expect(
      render(
        <Table heads={['a']}>
          {rows}
          {rows}
        </Table>,
      ),
    ).toContain('<tbody><tr></tr><tr></tr><tr></tr><tr></tr></tbody>');
  });
});
