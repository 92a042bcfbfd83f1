/** Pages of Gate itself, and of the person: nothing stands there that an agent or a policy says. */
export const OF_GATE_ITSELF: readonly string[] = [
  '/policies/new',
  '/compliance',
  '/health-of-services',
  '/settings',
  '/me',
  '/device',
];
