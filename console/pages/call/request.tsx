import type { Json, JsonObject } from '../../../contracts/json.js';
import type { LedgerEntry } from '../../../contracts/ledger.js';
import { isLook } from '../../../domain/evidence/ended.js';
import { printable } from '../../../domain/printable.js';
import { pathText } from '../../../domain/decision/argument-path.js';
import { valueAt } from '../../../domain/decision/modification.js';
import { shownJson } from '../../../domain/shown-json.js';
import type { Settled } from '../../services.js';
import { Foreign, OrAway } from '../../ui/parts.js';
import { valueText } from '../queue/arguments.js';
import { signalsOf, SignalsIn } from './evidence.js';
import { changedIn, MOST_CHARACTERS, newest, textOf } from './rows.js';

const valueShown = (value: Json | undefined): string =>
  value === undefined
    ? 'not known'
    : printable(value !== null && typeof value === 'object' ? JSON.stringify(value) : valueText(value));

/** What ran in the place of what stands below, before anybody takes that for it. */
function AsItRan({
  rows,
  request,
}: {
  readonly rows: readonly LedgerEntry[];
  /** As the agent sent it, masked; `null` where it was purged. */
  readonly request: JsonObject | null;
}) {
  const change = changedIn(rows);
  if (!change) return null;
  const ran = rows.some((row) => row.event_kind === 'upstream.outcome' && !isLook(row));
  const became = ran ? 'As it ran' : newest(rows, 'hil.approved') ? 'As approved' : 'As changed';
  return (
    <>
      <p>
        <strong>Not as its agent sent it:</strong> <Foreign text={textOf(change.row.policy_decision?.['decided_by'])} />{' '}
        changed what stands here, and nothing else.
      </p>
      <table class="values diff">
        <thead>
          <tr>
            <th scope="col">Argument</th>
            <th scope="col">As the agent sent it</th>
            <th scope="col">{became}</th>
          </tr>
        </thead>
        <tbody>
          {change.replacements.map(({ path, value }) => (
            <tr key={JSON.stringify(path)} class="changed">
              <th scope="row">
                <bdi class="foreign">{printable(pathText(path))}</bdi>
              </th>
              <td class="foreign text">{valueShown(request === null ? undefined : valueAt(request, path))}</td>
              <td class="foreign text">
                <ins>{valueShown(value)}</ins>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

/** What its agent sent, masked, and what ran in its place. */
export const Request = ({
  of,
  method,
  rows,
  facts,
}: {
  readonly method: string;
  readonly rows: readonly LedgerEntry[];
  readonly facts: Settled<Json>;
  readonly of: Settled<{ readonly masked_params: Json; readonly retention_class: string | null }>;
}) => (
  <section aria-labelledby="request">
    <h2 id="request">Request</h2>
    <OrAway of={of}>
      {({ masked_params: params, retention_class: kept }) => {
        const sent = params as JsonObject | null;
        if (sent === null)
          return (
            <>
              <AsItRan rows={rows} request={null} />
              <p class="dim">The request was purged at its date; the rows keep its digest.</p>
            </>
          );
        const { isWhole } = shownJson(params, MOST_CHARACTERS);
        return (
          <>
            <AsItRan rows={rows} request={{ method, params: sent }} />
            {!facts.ok && (
              <p class="notice bad">
                Values that another tool's answer brought in are not marked: what policy was told of the call cannot be
                read, as said above.
              </p>
            )}
            <SignalsIn
              of={params}
              most={MOST_CHARACTERS}
              signals={signalsOf(rows, facts.ok ? facts.value : null)}
              label="The request, secrets masked"
            />
            {!isWhole && (
              <p class="notice bad">Only the beginning: the request has more than {MOST_CHARACTERS} characters.</p>
            )}
            <p class="dim">
              As the agent sent it, secrets masked.{' '}
              {kept !== null && (
                <>
                  Retention class: <Foreign text={kept} />.
                </>
              )}
            </p>
          </>
        );
      }}
    </OrAway>
  </section>
);
