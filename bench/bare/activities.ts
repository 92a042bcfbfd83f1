/** Activities that do nothing, so that what is measured is the engine. */
export const bareActivities = {
  look: (id: string): Promise<string> => Promise.resolve(id),
  store: (id: string): Promise<string> => Promise.resolve(id),
  act: (id: string): Promise<string> => Promise.resolve(id),
};
export type BareActivities = typeof bareActivities;
