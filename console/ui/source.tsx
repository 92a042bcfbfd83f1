import { oneLine, printable } from '../../domain/printable.js';

/** A line of a policy's text: what nobody sees is an escape, but for the tabs that it is indented with. */
export const sourceLine = (line: string): string => line.split('\t').map(oneLine).join('\t');

/** How many lines are elements of their own, with an anchor and a colour. An element costs more than thirty times an empty line. */
export const PLACED_LINES = 5_000;

/** What stands behind those lines, in one part. */
const Rest = ({ of }: { readonly of: readonly string[] }) =>
  of.length > PLACED_LINES ? <span>{sourceLines(of.slice(PLACED_LINES))}</span> : null;
/** All at once: line by line the escapes of a million lines take seconds. */
const sourceLines = (lines: readonly string[]): string => `${lines.join('\n').split('\t').map(printable).join('\t')}\n`;

/** A text of rules by its lines, each of which an address can lead to. */
export const Source = ({
  text,
  label = 'Source',
  isAlone = true,
}: {
  readonly text: string;
  readonly label?: string;
  /** Whether this is the only text on the page: lines of two texts would share their anchors. */
  readonly isAlone?: boolean;
}) => {
  const lines = text.split('\n');
  return (
    <pre class="source" tabIndex={0} aria-label={oneLine(label)}>
      {lines.slice(0, PLACED_LINES).map((line, at) => (
        <span id={isAlone ? `L${at + 1}` : undefined} key={at}>
          {`${sourceLine(line)}\n`}
        </span>
      ))}
      <Rest of={lines} />
    </pre>
  );
};

/** What changed between two texts, in the unified form; each line keeps its sign, so that colour says nothing alone. */
export function Diff({ of, label }: { readonly of: string; readonly label: string }) {
  if (of === '') return <p class="dim">The texts are the same.</p>;
  const lines = of.trimEnd().split('\n');
  return (
    <pre class="source unified" tabIndex={0} aria-label={oneLine(label)}>
      {lines.slice(0, PLACED_LINES).map((line, at) => (
        <span key={at} class={kindOf(line, at)}>
          {`${sourceLine(line)}\n`}
        </span>
      ))}
      <Rest of={lines} />
    </pre>
  );
}

/** The first two lines name the texts. */
const kindOf = (line: string, at: number): string | undefined => {
  if (at < 2 || line.startsWith('@@')) return 'dim';
  return { '+': 'added', '-': 'removed' }[line.charAt(0)];
};
