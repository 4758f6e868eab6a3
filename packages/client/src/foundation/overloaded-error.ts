import { SpockError } from '@spock/protocol';

import { limitChannel } from './diagnostics.ts';

/** OVERLOADED: what was asked for is past a limit, which message and details name together with its value. Tells it, too. */
export function overloadedError(func: string, limit: string, value: number): SpockError {
	if (limitChannel.hasSubscribers) limitChannel.publish({ func, limit, value });
	return new SpockError('OVERLOADED', `${func}: ${limit} is reached, which is ${value}`, {
		details: { func, [limit]: value },
	});
}
