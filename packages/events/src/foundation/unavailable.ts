import { SpockError } from '@spock/protocol';
import { messageOf } from '@spock/protocol/internal';

/**
 * What a store was given cannot say where it is, or with which token: a failure of the store as a whole, whatever it is called. As a BAD_REQUEST, such as a
 * registry gives for a name, it would be taken for one of an event, which is then put aside.
 */
function unavailable(error: unknown): SpockError {
	if (SpockError.is(error, 'UNAVAILABLE')) return error;
	return new SpockError('UNAVAILABLE', messageOf(error), { cause: error });
}

/** Calls what gives an address, a token or the like, and rejects with UNAVAILABLE alone. */
export async function orUnavailable<Result>(call: () => Result | Promise<Result>): Promise<Result> {
	try {
		return await call();
	} catch (error) {
		throw unavailable(error);
	}
}
