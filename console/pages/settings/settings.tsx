import { ROLES, SEES } from '../../roles.js';
import { Facts, Foreign, Table, Time } from '../../ui/parts.js';
import type { Page, SettingShown, Visit } from '../../visit.js';

/** How the console is set up: to look at, whole without scripts. Nothing here is a secret. */
export const SETTINGS: Page = {
  of: 'settings',
  path: '/settings',
  role: 'viewer',
  nav: { label: 'Settings', key: 's' },
  async show({ about, may, person, nowMs }) {
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
          <p>
            Whether the other services answer is told at <a href="/health-of-services">Health</a>.
          </p>
          <Roles may={may} />
          <h2>What is set</h2>
          <p class="dim">
            As the console read it at its start. Of a secret it says whether it is set; other services have settings of
            their own.
          </p>
          <SettingTable
            label="Settings"
            of={about.settings.filter(({ isRead, from }) => isRead && from !== 'absent')}
          />
          <Folded what="Not set" of={about.settings.filter(({ isRead, from }) => isRead && from === 'absent')} />
          <Folded
            what="For other ways to sign in, and not read here"
            of={about.settings.filter(({ isRead }) => !isRead)}
          />
        </section>
      ),
    };
  },
};

const SettingTable = ({ of, label }: { readonly of: readonly SettingShown[]; readonly label: string }) => (
  <Table label={label} cards heads={['Setting', 'Value', 'From', 'What it is']}>
    {of.map((setting) => (
      <tr key={setting.variable}>
        <th scope="row" class="name lead">
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
);

const Folded = ({ of, what }: { readonly of: readonly SettingShown[]; readonly what: string }) =>
  of.length > 0 ? (
    <details>
      <summary>
        {what}: {of.length}
      </summary>
      <SettingTable label={what} of={of} />
    </details>
  ) : null;

const FROM = {
  default: ['default', ''],
  set: ['set here', 'allow'],
  secret: ['set here', 'allow'],
  // Its value says so.
  absent: null,
} as const;

function From({ of: { from } }: { readonly of: SettingShown }) {
  const said = FROM[from];
  return said && <span class={`tag ${said[1]}`}>{said[0]}</span>;
}

const Roles = ({ may }: Pick<Visit, 'may'>) => (
  <section>
    <h2>Roles</h2>
    <Table label="Roles" cards heads={['Role', 'May']}>
      {ROLES.map((role, at) => (
        <tr key={role}>
          <th scope="row" class="name lead">
            {role}
          </th>
          <td>
            {[
              ...(at === 0 ? [] : [`what ${ROLES[at - 1] === 'approver' ? 'an' : 'a'} ${ROLES[at - 1]} may`]),
              SEES[role],
              ...new Set(may.filter((form) => form.role === role).map(({ does }) => does)),
            ].join('; ')}
          </td>
        </tr>
      ))}
    </Table>
  </section>
);
