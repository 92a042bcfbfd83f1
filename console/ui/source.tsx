import { oneLine } from '../../domain/printable.js';

/** A line of a policy's text: what nobody sees is an escape, but for the tabs that it is indented with. */
export const sourceLine = (line: string): string => line.split('\t').map(oneLine).join('\t');

/** A text of rules by its lines, each of which an address can lead to. */
export const Source = ({
  text,
  label = 'Source',
  isAlone = true,
}: {
  readonly text: string;
  readonly label?: string;
  /** Whether the page has no other one, whose lines an address would mean too. */
  readonly isAlone?: boolean;
}) => (
  <pre class="source" tabIndex={0} aria-label={oneLine(label)}>
    {text.split('\n').map((line, at) => (
      <span id={isAlone ? `L${at + 1}` : undefined} key={at}>
        {`${sourceLine(line)}\n`}
      </span>
    ))}
  </pre>
);

/** What changed between two texts, in the unified form; each line keeps its sign, so that colour says nothing alone. */
export function Diff({ of, label }: { readonly of: string; readonly label: string }) {
  if (of === '') return <p class="dim">The texts are the same.</p>;
  return (
    <pre class="source unified" tabIndex={0} aria-label={oneLine(label)}>
      {of
        .trimEnd()
        .split('\n')
        .map((line, at) => (
          <span key={at} class={kindOf(line, at)}>
            {`${sourceLine(line)}\n`}
          </span>
        ))}
    </pre>
  );
}

/** The first two lines name the texts. */
const kindOf = (line: string, at: number): string | undefined => {
  if (at < 2 || line.startsWith('@@')) return 'dim';
  return { '+': 'added', '-': 'removed' }[line.charAt(0)];
};
