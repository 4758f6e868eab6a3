import { SpockError } from '@spock/protocol';

import { errorPage } from './documentation.ts';
import { CommandError, EXIT } from './output.ts';

/** A failure of a command for programs, as `--json` prints it: one line on stderr. */
export interface ErrorJson {
	/** A code of docs/PROTOCOL.md, or one of the command itself: `USAGE`, `NO_SIDECAR`, `FAILED`. */
	readonly code: string;
	/** What a person reads without `--json`, without the code. */
	readonly message: string;
	readonly exitCode: number;
	/** True if the same command may succeed later. */
	readonly retryable: boolean;
	/** Facts for programs; those of the sidecar's failure, if it is one. */
	readonly details: Readonly<Record<string, unknown>>;
	/** Where there is more: an address, or a command. */
	readonly help?: string;
}

/** Codes of failures that are not the sidecar's, by exit code. */
const CODES: Readonly<Record<number, string>> = { [EXIT.usage]: 'USAGE', [EXIT.noSidecar]: 'NO_SIDECAR' };

/** An error as an object for programs. `help` is what helps with wrong usage, `sidecar get --help` say. */
export function errorAsJson(error: unknown, help?: string): ErrorJson {
	if (!(error instanceof CommandError)) {
		// A fault of this program.
		const { message = String(error), stack } = error as Partial<Error>;
		return { code: 'INTERNAL', message, exitCode: EXIT.failure, retryable: false, details: { stack } };
	}
	const { exitCode, cause } = error;
	const { code, retryable, details } = factsOf(error);
	const message = error.message.startsWith(`${code}: `) ? error.message.slice(code.length + 2) : error.message;
	const more = SpockError.is(cause) ? cause.details['help'] : exitCode === EXIT.usage ? help : undefined;
	return { code, message, exitCode, retryable, details, ...(typeof more === 'string' && { help: errorPage(more) }) };
}

function factsOf({ exitCode, cause, code }: CommandError): Pick<ErrorJson, 'code' | 'retryable' | 'details'> {
	if (SpockError.is(cause)) return cause;
	const system = (cause as NodeJS.ErrnoException | undefined)?.code;
	return {
		code: code ?? CODES[exitCode] ?? 'FAILED',
		retryable: exitCode === EXIT.noSidecar || code !== undefined,
		details: typeof system === 'string' ? { causeCode: system } : {},
	};
}

/** Prints a failure on stderr as JSON. Gives the exit code. */
export function reportFailureAsJson(error: unknown, help?: string): number {
	const json = errorAsJson(error, help);
	process.stderr.write(`${JSON.stringify(json)}\n`);
	return json.exitCode;
}
