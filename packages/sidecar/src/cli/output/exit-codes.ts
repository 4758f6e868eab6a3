/** What a script reads from the command's exit code. */
export const EXIT: Readonly<Record<'ok' | 'failure' | 'usage' | 'noSidecar', number>> = Object.freeze({
	/** There is an answer. */
	ok: 0,
	/** No such service, none healthy, or another failure that the sidecar answered. */
	failure: 1,
	/** Wrong usage or settings. */
	usage: 2,
	/** No sidecar at that address. */
	noSidecar: 3,
});

/** Ends a command with a message on stderr and an exit code. */
export class CommandError extends Error {
	readonly exitCode: number;

	constructor(exitCode: number, message: string, options?: ErrorOptions) {
		super(message, options);
		this.name = 'CommandError';
		this.exitCode = exitCode;
	}
}

/** A wrong setting is wrong usage, whoever found it out. */
export async function asUsage<T>(make: () => T | Promise<T>): Promise<T> {
	try {
		return await make();
	} catch (error) {
		if (error instanceof CommandError) throw error;
		throw new CommandError(EXIT.usage, (error as Error).message, { cause: error });
	}
}
