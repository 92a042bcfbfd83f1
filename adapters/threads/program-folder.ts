/** The folder that the single executable unpacks its programs into. */
export const PROGRAM_FOLDER = 'program';
