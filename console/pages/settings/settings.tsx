import { ROLES } from '../../roles.js';
import { Facts, Foreign, Table, Time } from '../../ui/parts.js';
import type { Page, SettingShown, Visit } from '../../visit.js';
import type { ServiceHealth } from '../../services.js';

/** From here on an answer is slow. */
const SLOW_MS = 500;

/** How the console is set up, and what its neighbours answer: to look at, whole without scripts. Nothing here is a secret. */
export const SETTINGS: Page = {
  of: 'settings',
  path: '/settings',
  role: 'viewer',
  nav: { label: 'Settings', key: 's' },
  async show({ services, about, may, person, nowMs }) {
    const health = await services.health();
    return {
      title: 'Settings',
      body: (
        <section class="settings">
          <h1>Settings</h1>
          <Facts
            of={[
              ['Version', about.version],
              ['Node', about.node],
              ['Started', <Time iso={about.startedAt} nowMs={nowMs} />],
              ['Signed in by', person.mode],
              ['Tenant', person.tenant],
              ['Role', person.role],
            ]}
          />
          <Neighbours health={health} nowMs={nowMs} />
          <Roles may={may} />
          <h2>What is set</h2>
          <p class="dim">
            As the console read it at its start. Of a secret it says whether it is set; other services have settings of
            their own.
          </p>
          <Table label="Settings" heads={['Setting', 'Value', 'From', 'What it is']}>
            {about.settings.map((setting) => (
              <tr key={setting.variable}>
                <th scope="row" class="name">
                  <code>{setting.variable}</code>
                </th>
                <td>{setting.from === 'set' ? <Foreign text={setting.told} /> : setting.told}</td>
                <td>
                  <From of={setting} />
                </td>
                <td class="dim">{setting.meaning}</td>
              </tr>
            ))}
          </Table>
        </section>
      ),
    };
  },
};

const FROM = {
  default: ['default', ''],
  set: ['set here', 'allow'],
  secret: ['secret', 'allow'],
  absent: ['not configured', 'none'],
} as const;

function From({ of: { from } }: { readonly of: SettingShown }) {
  const [words, tone] = FROM[from];
  return <span class={`tag ${tone}`}>{words}</span>;
}

const Neighbours = ({ health, nowMs }: { readonly health: readonly ServiceHealth[]; readonly nowMs: number }) => (
  <section aria-labelledby="neighbours">
    <h2 id="neighbours">What the other services answer</h2>
    <p class="dim">
      Asked <Time iso={new Date(nowMs).toISOString()} nowMs={nowMs} />. <a href="/settings">Ask again</a>
    </p>
    <Table label="Other services" heads={['Service', 'State', { number: 'Took' }, 'It says']}>
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
  </section>
);

function State({ of: { ok, tookMs } }: { readonly of: ServiceHealth }) {
  if (!ok) return <span class="tag deny">away</span>;
  return tookMs < SLOW_MS ? <span class="tag allow">answers</span> : <span class="tag park">slow</span>;
}

const Roles = ({ may }: Pick<Visit, 'may'>) => (
  <section aria-labelledby="roles">
    <h2 id="roles">Roles</h2>
    <Table label="Roles" heads={['Role', 'May']}>
      {ROLES.map((role, at) => (
        <tr key={role}>
          <th scope="row" class="name">
            {role}
          </th>
          <td>
            {[
              at === 0
                ? 'look at everything of the tenant'
                : `what ${ROLES[at - 1] === 'approver' ? 'an' : 'a'} ${ROLES[at - 1]} may`,
              ...new Set(may.filter((form) => form.role === role).map(({ does }) => does)),
            ].join('; ')}
          </td>
        </tr>
      ))}
    </Table>
  </section>
);
