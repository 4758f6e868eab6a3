import { CommandError, EXIT } from './exit-codes.ts';

/** Says on stderr why a command has failed. Gives the exit code. */
export function reportFailure(error: unknown): number {
	if (error instanceof CommandError) {
		process.stderr.write(`sidecar: ${error.message}\n`);
		return error.exitCode;
	}
	process.stderr.write(`sidecar: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
	return EXIT.failure;
}
