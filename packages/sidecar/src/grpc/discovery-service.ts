import type { ServerWritableStream, UntypedServiceImplementation } from '@grpc/grpc-js';
import { inspectionOf } from '@spock/balancer';
import { queryKey, type ServiceSnapshot, type SourceWatch, SpockError, validateFuncData } from '@spock/protocol';

import { explained } from '../handlers/explain.ts';
import type { FrontContext } from '../lifecycle/sidecar-options.ts';
import { encoderOf } from './definitions.ts';
import { statusName, statusOf } from './grpc-status.ts';
import {
	DISCOVERY,
	explainResponse,
	getResponse,
	listResponse,
	type QueryMessage,
	questionOf,
	watchResponse,
} from './messages.ts';
import { type OpenStreams, RESPONSE_BYTES_MAX } from './open-streams.ts';
import { askerOf, type UnaryCalls, type Waiting } from './unary.ts';

type GetMessage = QueryMessage & { readonly key: string; readonly max_age_ms?: number };
type WatchCall = ServerWritableStream<QueryMessage, unknown>;

const explainBytes = encoderOf(DISCOVERY, 'Explain');
const listBytes = encoderOf(DISCOVERY, 'List');

/** The service spock.v1.Discovery, over the same answers as the sidecar's own protocol. */
export function discoveryService(
	{ source, choose, watchers }: FrontContext,
	calls: UnaryCalls,
	streams: OpenStreams,
): UntypedServiceImplementation {
	const get = ({ key, max_age_ms: maxAgeMs, ...message }: GetMessage, waiting: Waiting): Buffer | Promise<Buffer> => {
		const asked = { ...questionOf(message), ...(key !== '' && { key }), ...(maxAgeMs !== undefined && { maxAgeMs }) };
		const data = validateFuncData('getService', asked);
		const known = maxAgeMs === undefined ? source.peek(data) : undefined;
		if (known !== undefined) return getResponse(choose(known, data), known);
		return source
			.get(data, { ...waiting(), maxAgeMs })
			.then((snapshot) => getResponse(choose(snapshot, data), snapshot));
	};

	const list = ({ datacenter }: { readonly datacenter: string }, waiting: Waiting): Promise<Buffer> => {
		const data = validateFuncData('listServices', datacenter === '' ? {} : { datacenter });
		return source.list(data, waiting()).then((found) => withinLimit(listBytes(listResponse(found)), 'the list'));
	};

	const explain = async (message: QueryMessage, waiting: Waiting): Promise<Buffer> => {
		const query = validateFuncData('explain', questionOf(message));
		const options = waiting();
		const inspection = (await source.inspect?.(query, options)) ?? inspectionOf(await source.get(query, options));
		let reply = explained(query, inspection, watchers(query));
		const count = streams.count(queryKey(query));
		let bytes = explainBytes(explainResponse(reply, count));
		// As many instances as fit: a service that is too long is the one that must be explained.
		while (bytes.length > RESPONSE_BYTES_MAX && reply.instances.length > 0) {
			const share = (reply.instances.length * RESPONSE_BYTES_MAX) / bytes.length;
			const kept = Math.floor(Math.min(reply.instances.length - 1, share));
			reply = { ...reply, instances: reply.instances.slice(0, kept) };
			bytes = explainBytes(explainResponse(reply, count));
		}
		return bytes;
	};

	const begin = (call: WatchCall): void => {
		const query = validateFuncData('watchService', questionOf(call.request));
		let watching: SourceWatch | undefined;
		let isEnded = false;
		const ended = (): void => {
			isEnded = true;
			watching?.stop();
		};
		const stream = streams.open(call, { method: 'Watch', key: queryKey(query), ended });
		const orFail = (send: () => void): void => {
			try {
				send();
			} catch (thrown) {
				stream.fail(calls.errorOf('Watch', thrown));
			}
		};
		const next = (snapshot: ServiceSnapshot): void =>
			orFail(() => stream.send(withinLimit(watchResponse(snapshot), `the service ${snapshot.service}`)));
		orFail(() => {
			watching = source.watch(query, { next, error: (error) => stream.fail(error) }, { asker: askerOf(call) });
			// It may have reported an error before it returned.
			if (isEnded) watching.stop();
		});
	};

	const watch = (call: WatchCall): void => {
		try {
			begin(call);
		} catch (thrown) {
			const status = statusOf(calls.errorOf('Watch', thrown));
			calls.answered('Watch', statusName(status.code));
			call.emit('error', status);
		}
	};

	return {
		Get: calls.handler('Get', get),
		List: calls.handler('List', list),
		Explain: calls.handler('Explain', explain),
		Watch: watch,
	};
}

function withinLimit(bytes: Buffer, what: string): Buffer {
	if (bytes.length <= RESPONSE_BYTES_MAX) return bytes;
	throw new SpockError(
		'FRAME_TOO_LARGE',
		`${what} takes ${bytes.length} bytes, over the limit of ${RESPONSE_BYTES_MAX}: narrow the query by tags`,
	);
}
