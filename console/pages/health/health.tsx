import { settled } from '../../services.js';
import { Chain } from '../../ui/chain.js';
import { Foreign, Table } from '../../ui/parts.js';
import type { Page } from '../../visit.js';

/** Whether each service answers, and whether the chain holds. */
export const HEALTH: Page = {
  path: '/health-of-services',
  role: 'viewer',
  nav: { label: 'Health', key: 'e' },
  async show({ services, nowMs }) {
    const [health, chain] = await Promise.all([services.health(), settled('The ledger', services.ledger.chain())]);
    return {
      title: 'Health',
      body: (
        <section>
          <h1>Health</h1>
          <Table label="Services" heads={['Service', 'State', { number: 'Took' }, 'It says']}>
            {health.map(({ name, ok, words, tookMs }) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                <td>
                  <span class={`tag ${ok ? 'allow' : 'deny'}`}>{ok ? 'answers' : 'away'}</span>
                </td>
                <td class="number">{tookMs} ms</td>
                <td>
                  <Foreign text={words} />
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
