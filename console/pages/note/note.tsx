import type { NarrateDecision } from '../../../contracts/narration.js';
import { LONGEST_NOTE, type PendingRequest } from '../../../contracts/review.js';
import { sha256Hex } from '../../../domain/crypto/digest.js';
import { GateError } from '../../../domain/errors.js';
import { clipped } from '../../../domain/text.js';
import { callAddress, reviewAddress } from '../../ui/addresses.js';
import { Csrf, Empty, Foreign, Time } from '../../ui/parts.js';
import { type Action, NOTED, type Page, type Shown, type Visit } from '../../visit.js';
import { callIdOf } from '../queue/list-address.js';

/** Names the note that a page showed: a browser sends line breaks of its own for those of a text. */
const digestOf = (note: string | null): string => (note === null ? '' : sha256Hex(note));

/** What came of a call after its review, in one line under a person's name. It decides nothing. */
export const NOTE: Page = {
  path: '/hil/:id/note',
  role: 'approver',
  show: (visit) => noteShown(visit),
};

export const SAVE_NOTE: Action = {
  path: '/hil/:id/note',
  role: 'approver',
  does: 'note what came of a call',
  written: NOTED,
  async act(visit, form) {
    const note = form.get('note').trim();
    if (note === '' || note.length > LONGEST_NOTE)
      throw new GateError('invalid_request', `a note has 1 to ${LONGEST_NOTE} characters. Nothing was saved`);
    const before = (await rowOf(visit))?.incident_summary ?? null;
    const isShown = digestOf(before) === form.get('shown');
    // Where it is another one by now, `note` says so, unless it is the same that this person saved just now.
    const row = await visit.services.hil.note(callIdOf(visit), note, isShown ? before : null);
    return callAddress(row.correlation_id);
  },
  refused: (visit, form) => noteShown(visit, { typed: form.get('note') }),
};

/** A model's sentence, in the field: nothing is kept of it until a person saves it as his own. */
export const SUGGEST_NOTE: Action = {
  path: '/hil/:id/note/suggest',
  of: 'models',
  role: 'approver',
  does: 'have a model suggest a note',
  written: NOTED,
  async act(visit, form) {
    const row = await rowOf(visit);
    const question = row && questionOf(row);
    if (!question) throw new GateError('still_pending');
    const { incident_summary: suggested, model } = await visit.services.brain.narrate(question);
    return noteShown(visit, { typed: form.get('note').trim(), suggested: { text: suggested, model } });
  },
  refused: (visit, form) => noteShown(visit, { typed: form.get('note') }),
};

const rowOf = (visit: Visit): Promise<PendingRequest | null> => visit.services.hil.row(callIdOf(visit));

/** What was decided, in the words that Gate and the one who decided used; null while nothing is. */
function questionOf(row: PendingRequest): NarrateDecision | null {
  if (row.status !== 'approved' && row.status !== 'denied') return null;
  const { risk_summary: risk, decision_reason: reason, sandbox_report: report } = row;
  return {
    verdict: row.status === 'denied' ? 'deny' : row.modification_diff ? 'modify' : 'approve',
    risk_summary: clipped(risk, 500) || 'not said',
    ...(reason && { decision_reason: clipped(reason, 300) }),
    ...(report && { sandbox_severity: report.severity, sandbox_operation_class: report.operation_class }),
  };
}

async function noteShown(
  visit: Visit,
  {
    typed = '',
    suggested,
  }: { readonly typed?: string; readonly suggested?: { readonly text: string; readonly model: string } } = {},
): Promise<Shown> {
  const [row, mayWrite] = await Promise.all([rowOf(visit), hasWriter(visit)]);
  if (row === null)
    return {
      title: 'No such call',
      status: 404,
      body: (
        <Empty>
          There is no such call in your tenant. <a href="/hil">The queue</a>
        </Empty>
      ),
    };
  const { csrf, nowMs } = visit;
  const question = questionOf(row);
  return {
    title: 'Note',
    body: (
      <section class="policy">
        <h1>What came of it</h1>
        <p>
          <a href={callAddress(row.correlation_id)}>The call</a>, <Foreign text={row.risk_summary} />, {row.status}
          {row.decided_at && (
            <>
              {' '}
              <Time iso={row.decided_at} nowMs={nowMs} />
            </>
          )}
        </p>
        {row.incident_summary && (
          <p>
            Noted by <Foreign text={row.incident_by ?? 'somebody'} />: <Foreign text={row.incident_summary} />. What you
            save takes its place.
          </p>
        )}
        {row.status === 'pending' ? (
          <Empty>
            It is not decided yet. <a href={reviewAddress(row.id)}>Decide it</a>
          </Empty>
        ) : (
          <form method="post" action={reviewAddress(row.id, 'note')} class="sheet">
            <Csrf token={csrf} />
            <input type="hidden" name="shown" value={digestOf(row.incident_summary ?? null)} />
            <label>
              One line under your name, for whoever looks at the call later
              <input name="note" required maxLength={LONGEST_NOTE} value={suggested?.text ?? typed} />
            </label>
            {suggested && (
              <p class="standing">
                A model wrote this, <Foreign text={suggested.model} />. Read it: what you save is your word.
                {typed !== '' && (
                  <>
                    {' '}
                    You had typed: <Foreign text={typed} />
                  </>
                )}
              </p>
            )}
            <p>
              <button class="act" type="submit">
                Save
              </button>{' '}
              {mayWrite && question && (
                <button type="submit" formaction={reviewAddress(row.id, 'note/suggest')} formnovalidate>
                  Have a model suggest one
                </button>
              )}
            </p>
          </form>
        )}
      </section>
    ),
  };
}

/** Whether a model is set to write about decisions. Where Brain is away none is. */
async function hasWriter({ has, services }: Visit): Promise<boolean> {
  if (!has('models')) return false;
  const snapshot = await services.brain.snapshot().catch(() => null);
  return snapshot?.lanes.some(({ lane }) => lane === 'narrate_decision') ?? false;
}
