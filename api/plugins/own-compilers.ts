const unasked = (): never => {
  throw new Error('a route has a schema and its app no compiler for it');
};

/**
 * For `Fastify({ schemaController })`: an app without a compiler of its own makes none. Left to itself Fastify loads a JSON Schema
 * validator and a serializer at its start, a hundred files that no route of Gate uses.
 */
export const ownCompilersOnly = {
  compilersFactory: { buildValidator: () => unasked, buildSerializer: () => unasked },
};
