import { type ServiceHealth, settled } from '../../services.js';
import { Chain } from '../../ui/chain.js';
import { Foreign, Table, Time } from '../../ui/parts.js';
import type { Page } from '../../visit.js';

/** From here on an answer is slow. */
const SLOW_MS = 500;

/** Whether each service answers, and whether the chain holds. */
export const HEALTH: Page = {
  path: '/health-of-services',
  role: 'viewer',
  nav: { label: 'Health', key: 'e' },
  async show({ services, nowMs }) {
    const [health, chain] = await Promise.all([services.health(), settled('ledger', services.ledger.chain())]);
    return {
      title: 'Health',
      body: (
        <section>
          <h1>Health</h1>
          <p class="dim">
            Asked <Time iso={new Date(nowMs).toISOString()} nowMs={nowMs} />.{' '}
            <a href="/health-of-services">Ask again</a>
          </p>
          <Table label="Services" heads={['Service', 'State', { number: 'Took' }, 'It says']}>
            {health.map((service) => (
              <tr key={service.name}>
                <th scope="row" class="name">
                  {service.name}
                </th>
                <td>
                  <State of={service} />
                </td>
                <td class="number">{service.tookMs} ms</td>
                <td>
                  <Foreign text={service.words} />
                </td>
              </tr>
            ))}
          </Table>
          <h2>The chain</h2>
          <Chain of={chain} nowMs={nowMs} />
        </section>
      ),
    };
  },
};

function State({ of: { ok, isPartly = false, tookMs } }: { readonly of: ServiceHealth }) {
  if (isPartly) return <span class="tag park">partly</span>;
  if (!ok) return <span class="tag deny">away</span>;
  return tookMs < SLOW_MS ? <span class="tag allow">answers</span> : <span class="tag park">slow</span>;
}
