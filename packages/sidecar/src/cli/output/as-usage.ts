import { CommandError, EXIT } from './exit-codes.ts';

/** A wrong setting is wrong usage, whoever found it out. */
export async function asUsage<T>(make: () => T | Promise<T>): Promise<T> {
	try {
		return await make();
	} catch (error) {
		if (error instanceof CommandError) throw error;
		throw new CommandError(EXIT.usage, (error as Error).message, { cause: error });
	}
}
