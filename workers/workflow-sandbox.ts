/**
 * Loaded into the workflow sandbox before any workflow. The SDK takes a stack trace for every promise of a workflow, with each frame looked
 * up in the source map; the innermost frames say enough of a failure, and the others were a fifth of a workflow's CPU time.
 */
Error.stackTraceLimit = 3;
