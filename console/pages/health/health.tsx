import { settled } from '../../services.js';
import { Foreign, OrAway } from '../../ui/parts.js';
import type { Page } from '../../visit.js';

/** Whether each service is ready, and whether the chain holds. */
export const HEALTH: Page = {
  path: '/health-of-services',
  role: 'viewer',
  nav: { label: 'Health', key: 'e' },
  async show({ services }) {
    const [health, chain] = await Promise.all([services.health(), settled('The ledger', services.ledger.verify())]);
    return {
      title: 'Health',
      body: (
        <section>
          <h1>Health</h1>
          <table class="rows">
            <thead>
              <tr>
                <th scope="col">Service</th>
                <th scope="col">State</th>
                <th scope="col">It says</th>
              </tr>
            </thead>
            <tbody>
              {health.map(({ name, ok, words }) => (
                <tr key={name}>
                  <th scope="row">{name}</th>
                  <td>
                    <span class={`tag ${ok ? 'allow' : 'deny'}`}>{ok ? 'ready' : 'not ready'}</span>
                  </td>
                  <td>
                    <Foreign text={words} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
          <h2>The chain</h2>
          <OrAway of={chain}>
            {({ valid, entries_checked, first_invalid_seq, commitment }) => (
              <p class={`notice ${valid ? 'good' : 'bad'}`}>
                {valid
                  ? `It holds: ${entries_checked} rows were checked now, ${commitment?.length ?? entries_checked} in all.`
                  : `It does not hold from row ${first_invalid_seq ?? '?'} on. Decide nothing on what it says; gate verify says more.`}
              </p>
            )}
          </OrAway>
        </section>
      ),
    };
  },
};
