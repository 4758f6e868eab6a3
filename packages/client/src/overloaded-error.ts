import { SpockError } from '@spock/protocol';

/** OVERLOADED: what was asked for is past a limit, which message and details name together with its value. */
export function overloadedError(func: string, limit: string, value: number): SpockError {
	return new SpockError('OVERLOADED', `${func}: ${limit} is reached, which is ${value}`, {
		details: { func, [limit]: value },
	});
}
