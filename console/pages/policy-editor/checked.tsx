import type { ValidatedPolicy } from '../../../contracts/policy-library.js';
import { unifiedDiff } from '../../../domain/policy/unified-diff.js';
import { printable } from '../../../domain/printable.js';
import type { Settled } from '../../services.js';
import { Foreign, OrAway } from '../../ui/parts.js';
import { Diff, sourceLine } from '../../ui/source.js';
import type { Draft } from './draft.js';

/** Lines around the one that is at fault. */
const AROUND = 2;
/** Lines with characters that nobody sees which are named. */
const UNSEEN = 5;

/** What the check says; `notYet`: why the text cannot be checked as it was typed, in words. */
export type Check = Settled<ValidatedPolicy> | { readonly notYet: string };

/** What speaks against a text, and where; or how it differs from what is stored. The script puts a newer one in its place as somebody types. */
export const Checked = ({
  of,
  draft,
  stored,
}: {
  /** `null`: it was not asked yet. */
  readonly of: Check | null;
  readonly draft: Draft;
  /** What is stored now; `null` for a new policy. */
  readonly stored: string | null;
}) => (
  <section class="checked" data-checked aria-label="What the check says" role="status">
    {of === null ? (
      <p class="dim">
        Nothing is checked yet: <q>Check</q> says whether it compiles and what it changes.
      </p>
    ) : 'notYet' in of ? (
      <p class="standing">
        <Foreign text={of.notYet} />
      </p>
    ) : (
      <OrAway of={of}>
        {({ ok, error, warnings = [], formatted }) => (
          <>
            {ok ? (
              <p class="fine">
                {draft.content_type === 'rego' ? 'It compiles by itself.' : 'It is a document that rules can read.'}{' '}
                What is saved is compiled together with everything in force.
              </p>
            ) : (
              error && <Fault of={error} draft={draft} />
            )}
            {warnings.map((words) => (
              <p key={words} class="standing">
                <Foreign text={words} />
              </p>
            ))}
            <Unseen body={draft.body} />
            {formatted !== undefined && (
              <details>
                <summary>OPA writes it otherwise</summary>
                <Diff
                  of={unifiedDiff(draft.body, formatted, { from: 'as typed', to: 'as OPA writes it' })}
                  label="As OPA writes it"
                />
              </details>
            )}
            {stored !== null && (
              <details open>
                <summary>What it changes</summary>
                <Diff
                  of={unifiedDiff(stored, draft.body, { from: 'stored now', to: 'as typed' })}
                  label="What it changes"
                />
              </details>
            )}
          </>
        )}
      </OrAway>
    )}
  </section>
);

const Fault = ({
  of: { message, line, column, pointer },
  draft: { name, body },
}: {
  readonly of: NonNullable<ValidatedPolicy['error']>;
  readonly draft: Draft;
}) => {
  const lines = body.split('\n');
  const first = Math.max(1, (line ?? 1) - AROUND);
  return (
    <div class="notice bad" role="alert">
      <p>
        <a href="#body" data-line={line} data-column={column}>
          <Foreign text={[name, line, column].filter((part) => part !== undefined && part !== '').join(':')} />
        </a>
        {pointer !== undefined && pointer !== '' && (
          <>
            {' '}
            <code>{sourceLine(pointer)}</code>
          </>
        )}
        : <Foreign text={message} />
      </p>
      {line !== undefined && (
        <pre class="source" aria-label="Around it" tabIndex={0}>
          {lines.slice(first - 1, line + AROUND).map((text, at) => (
            <span key={at} class={first + at === line ? 'removed' : undefined}>
              {`${String(first + at).padStart(4)}  ${sourceLine(text)}\n`}
            </span>
          ))}
        </pre>
      )}
    </div>
  );
};

/** A text can look like another one than OPA reads. */
const Unseen = ({ body }: { readonly body: string }) => {
  const found = body
    .split('\n')
    .flatMap((text, at) => (printable(text.replaceAll('\t', '')) === text.replaceAll('\t', '') ? [] : [{ text, at }]));
  if (found.length === 0) return null;
  return (
    <div class="standing">
      <p>It has characters that nobody sees, or that pass for others:</p>
      <pre class="source" aria-label="Characters that nobody sees" tabIndex={0}>
        {found.slice(0, UNSEEN).map(({ text, at }) => `${String(at + 1).padStart(4)}  ${sourceLine(text)}\n`)}
        {found.length > UNSEEN && `and ${found.length - UNSEEN} lines more\n`}
      </pre>
    </div>
  );
};
