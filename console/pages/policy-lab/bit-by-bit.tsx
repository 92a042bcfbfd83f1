import type { ComponentChildren, VNode } from 'preact';
import { errorText, GateError } from '../../../domain/errors.js';
import { SERVICE_WORDS } from '../../services.js';
import { Foreign } from '../../ui/parts.js';

type Line<Progress, Result> =
  | { readonly progress: Progress }
  | { readonly result: Result }
  | { readonly error: { readonly code: string; readonly reason: string } };

/** What takes long as it comes: how far it is, each time in the place of what was said before, and then what it found; or why it found nothing. */
export async function* bitByBit<Progress, Result>(
  lines: AsyncIterable<Line<Progress, Result>>,
  told: {
    readonly first: string;
    readonly progress: (of: Progress) => ComponentChildren;
    readonly result: (of: Result) => VNode;
  },
): AsyncGenerator<VNode> {
  yield <p class="progress">{told.first}</p>;
  try {
    for await (const line of lines) {
      if ('error' in line) return yield <Nothing why={line.error.reason} code={line.error.code} />;
      if ('result' in line) return yield told.result(line.result);
      yield <p class="progress">{told.progress(line.progress)}</p>;
    }
    yield <Nothing why={`${SERVICE_WORDS.policy} ended before its result`} code="console_neighbour_away" />;
  } catch (error) {
    yield <Nothing why={errorText(error)} code={error instanceof GateError ? error.code : 'console_neighbour_away'} />;
  }
}

const Nothing = ({ why, code }: { readonly why: string; readonly code: string }) => (
  <section class="lab">
    <p class="notice bad" role="alert">
      There is no result: <Foreign text={why} /> (<code>{code}</code>)
    </p>
  </section>
);
