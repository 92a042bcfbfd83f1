/** What somebody who is signed in may do; each role may also do what those before it may. */
export const ROLES = ['viewer', 'approver', 'admin'] as const;
export type Role = (typeof ROLES)[number];

/**
 * What each role sees beyond the one before it. Everything else that a role may do is a form (`ACTIONS`), or a page that serves one and asks for
 * its role; the test of the settings compares.
 */
export const SEES: Readonly<Record<Role, string>> = {
  viewer:
    'look at everything of the tenant but pages that serve a form of a higher role, with secrets and personal data masked in calls under review; register passkeys of oneself',
  approver: 'see calls under review as they would run, unmasked',
  admin: 'see where copies of rows went; invite people who sign in by a passkey, and take them out',
};

/** Whether a role is enough where another is asked for. */
export const isAtLeast = (role: Role, needed: Role): boolean => ROLES.indexOf(role) >= ROLES.indexOf(needed);
