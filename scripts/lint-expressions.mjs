import { readFileSync } from 'node:fs';

/**
 * Lint rule for `oxlint`: no expression that nobody proved linear reads text from agents or upstreams.
 *
 * - `new RegExp(…)` stands in domain/expressions/linear.ts only, where the test of all expressions sees what is made.
 * - In the folders named in domain/expressions/proved-expressions.json, a literal that can repeat without bound is in that file, and
 *   test/spec/linear-expressions.test.ts proves each of them.
 */
const { folders, expressions } = JSON.parse(
  readFileSync(new URL('../domain/expressions/proved-expressions.json', import.meta.url), 'utf8'),
);
const proved = new Set(expressions);
const root = new URL('..', import.meta.url).pathname;

/** Whether a quantifier without an upper bound (`*`, `+`, `{2,}`) stands outside character classes. */
export function repeatsWithoutBound(pattern) {
  let inClass = false;
  for (let at = 0; at < pattern.length; at += 1) {
    const unit = pattern[at];
    if (unit === '\\') at += 1;
    else if (inClass) inClass = unit !== ']';
    else if (unit === '[') inClass = true;
    else if (unit === '*' || unit === '+' || /^\{\d+,\}/.test(pattern.slice(at, at + 12))) return true;
  }
  return false;
}

const linearExpressions = {
  create(context) {
    const file = context.filename.startsWith(root) ? context.filename.slice(root.length) : context.filename;
    if (!/\.tsx?$/.test(file) || /\.test\.tsx?$/.test(file) || file.startsWith('test/')) return {};
    const readsOutsideText = folders.some((folder) => file.startsWith(folder));
    const made = (node) => {
      if (node.callee.type !== 'Identifier' || node.callee.name !== 'RegExp') return;
      // Scripts maintain this repository: what they read is its own.
      if (file === 'domain/expressions/linear.ts' || file.startsWith('scripts/')) return;
      context.report({
        node,
        message:
          'Make this expression with composed() or linear() of domain/expressions/linear.ts, at the top of the module.',
      });
    };
    return {
      NewExpression: made,
      CallExpression: made,
      Literal(node) {
        if (!node.regex || !readsOutsideText || !repeatsWithoutBound(node.regex.pattern)) return;
        const written = `/${node.regex.pattern}/${node.regex.flags}`;
        if (proved.has(written)) return;
        context.report({
          node,
          message: `This folder reads text from agents or upstreams, and nobody proved that ${written} takes linear time. Read the text word by word, or use linear() of domain/expressions/linear.ts; an expression that test/spec/linear-expressions.test.ts proves may be added to domain/expressions/proved-expressions.json.`,
        });
      },
    };
  },
};

export default { meta: { name: 'gate' }, rules: { 'linear-expressions': linearExpressions } };
