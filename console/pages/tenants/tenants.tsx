import type { LifecycleReceipt } from '../../../contracts/erasure.js';
import type { TenantOperation, TenantStep } from '../../../contracts/tenant-lifecycle.js';
import type { TenantReviews } from '../../../contracts/tenant-reviews.js';
import { settled } from '../../services.js';
import { Empty, Foreign, Id, OrAway, Table, Time } from '../../ui/parts.js';
import type { Form, Page, Shown, Visit } from '../../visit.js';
import { ofIdentity, OrUnknown } from '../stops/known.js';
import { Budget, budgetFound } from './budget.js';
import { budgetForm } from './set-budget.js';

/** The person's tenant: its budget, what was begun with it, step by step, whether it may have reviews, and what was done when it came or left. */
export const TENANTS: Page = {
  of: 'tenants',
  path: '/tenants',
  role: 'viewer',
  nav: { label: 'Tenant', key: 't' },
  show: (visit) => tenantShown(visit),
};

/** The form of this page. */
export const SET_BUDGET = budgetForm((visit, form) => tenantShown(visit, form));

async function tenantShown(visit: Visit, typed?: Form): Promise<Shown> {
  const { services, person, nowMs } = visit;
  const [operations, reviews, rows, budget] = await Promise.all([
    ofIdentity(services.identity.tenantOperations()),
    settled('hil', services.hil.tenant()),
    settled('ledger', services.ledger.tenant()),
    budgetFound({ services }),
  ]);
  return {
    title: 'Tenant',
    body: (
      <section class="tenant">
        <h1>
          Tenant {person.tenant}{' '}
          {reviews.ok && (
            <span class={`tag ${reviews.value.state === 'active' ? 'allow' : 'deny'}`}>
              {reviews.value.state === 'active' ? 'active' : 'has left'}
            </span>
          )}
        </h1>
        <p class="dim">
          Of your own tenant alone. A tenant comes and leaves by <code>gate tenant</code>.
        </p>
        <Budget of={budget} visit={visit} typed={typed} />
        <h2>What was begun</h2>
        <OrUnknown of={operations}>
          {(found) =>
            found.length === 0 ? (
              <Empty>Nothing was begun: the tenant may do what policy lets it.</Empty>
            ) : (
              <>
                {found.map((operation) =>
                  'tampered' in operation ? (
                    <p key={operation.id}>
                      <span class="tag deny">edited</span> <Foreign text={operation.tampered} />. Nobody does anything
                      by it.
                    </p>
                  ) : (
                    <Steps of={operation} nowMs={nowMs} key={operation.id} />
                  ),
                )}
              </>
            )
          }
        </OrUnknown>
        <h2>Its reviews</h2>
        <OrAway of={reviews}>{(found) => <Operations of={found} nowMs={nowMs} />}</OrAway>
        <h2>Its rows in the ledger</h2>
        <OrAway of={rows}>{(found) => <Receipts of={found} nowMs={nowMs} />}</OrAway>
      </section>
    ),
  };
}

const TAGS: Readonly<Record<TenantStep['state'], string>> = {
  pending: 'none',
  running: 'park',
  retryable: 'park',
  manual_recovery: 'deny',
  succeeded: 'allow',
};

const Steps = ({ of, nowMs }: { readonly of: TenantOperation; readonly nowMs: number }) => (
  <>
    <p>
      <strong>{of.kind}</strong>, begun <Time iso={of.created_at} nowMs={nowMs} /> by <Foreign text={of.actor_sub} />:{' '}
      <Foreign text={of.reason} />. Operation <Id id={of.id} short />, {of.state.replaceAll('_', ' ')}.
    </p>
    <Table
      label={`Steps of ${of.kind}`}
      heads={['Step', 'Owner', 'State', { number: 'Attempts' }, 'Last changed', 'Receipt', 'Last error']}
    >
      {of.steps.map((step) => (
        <tr key={step.id}>
          <td>
            {step.order} {step.id.replaceAll('_', ' ')}
          </td>
          <td>{step.owner}</td>
          <td>
            <span class={`tag ${TAGS[step.state]}`}>{step.state.replaceAll('_', ' ')}</span>
          </td>
          <td class="number">{step.attempts}</td>
          <td>
            <Time iso={step.updated_at} nowMs={nowMs} />
          </td>
          <td>{step.receipt_sha256 !== null && <Id id={step.receipt_sha256} short />}</td>
          <td>{step.last_error !== null && <Foreign text={step.last_error} />}</td>
        </tr>
      ))}
    </Table>
  </>
);

const Operations = ({ of, nowMs }: { readonly of: TenantReviews; readonly nowMs: number }) =>
  of.operations.length === 0 ? (
    <Empty>Nothing was done: calls of this tenant that need a person wait in the queue.</Empty>
  ) : (
    <Table
      label="Operations of the review service"
      heads={[
        'Operation',
        'What',
        'Begun',
        'By',
        'Came to',
        { number: 'Denied' },
        { number: 'Deleted' },
        { number: 'Held' },
        'Receipt',
      ]}
    >
      {of.operations.map(({ operation_id, kind, begun_at, asked_by, receipt }) => (
        <tr key={operation_id}>
          <td>
            <Id id={operation_id} short />
          </td>
          <td>{kind}</td>
          <td>
            <Time iso={begun_at} nowMs={nowMs} />
          </td>
          <td>
            <Foreign text={asked_by} />
          </td>
          <td>
            {receipt === null ? (
              <span class="tag park">not finished</span>
            ) : (
              <span class="tag none">{receipt.state}</span>
            )}
          </td>
          <td class="number">{receipt?.pending_denied}</td>
          <td class="number">{receipt?.rows_erased}</td>
          <td class="number">{receipt?.rows_held}</td>
          <td>{receipt && <Id id={receipt.receipt_sha256} short />}</td>
        </tr>
      ))}
    </Table>
  );

const Receipts = ({ of, nowMs }: { readonly of: readonly LifecycleReceipt[]; readonly nowMs: number }) =>
  of.length === 0 ? (
    <Empty>Nothing was done: its rows stand as they were written.</Empty>
  ) : (
    <Table
      label="Steps of the ledger"
      heads={['Operation', 'What', 'When', 'Came to', { number: 'Rows' }, 'Final export', 'Receipt']}
    >
      {of.map((receipt) => (
        <tr key={receipt.generation}>
          <td>
            <Id id={receipt.operation_id} short />
          </td>
          <td>{receipt.kind.replaceAll('_', ' ')}</td>
          <td>
            <Time iso={receipt.updated_at} nowMs={nowMs} />
          </td>
          <td>
            <span class="tag none">{receipt.state}</span>
          </td>
          <td class="number">{receipt.rows_affected}</td>
          <td>
            {receipt.artifact_sha256 !== null && (
              <>
                <Id id={receipt.artifact_sha256} short /> {receipt.artifact_bytes} bytes
              </>
            )}
          </td>
          <td>
            <Id id={receipt.receipt_sha256} short />
          </td>
        </tr>
      ))}
    </Table>
  );
