import { EXIT } from './exit-codes.ts';

/**
 * Decides what becomes of a command whose output cannot be written. A reader that has gone, as in `sidecar list | head -1`,
 * has what it wanted: the command goes on to its end in silence, with the exit code it would have had. Any other failure
 * of stdout, such as a full disk, ends it with a message, because a script would take the answer for whole.
 */
export function handleLostOutput(): void {
	process.stdout.on('error', endOfOutput);
	// Nobody can be told.
	process.stderr.on('error', () => undefined);
}

/** What is written from now on is a log: that it cannot be written ends nothing. */
export function outputIsLog(): void {
	process.stdout.off('error', endOfOutput);
}

function endOfOutput(error: NodeJS.ErrnoException): void {
	if (error.code === 'EPIPE') return;
	process.stderr.write(`sidecar: the output cannot be written: ${error.message}\n`);
	process.exit(EXIT.failure);
}
