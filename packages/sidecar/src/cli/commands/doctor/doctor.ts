import type { CallOptions, Diplomat } from '@spock/client';
import { type ExplainReply, type ServiceQuery, SpockError } from '@spock/protocol';
import { queryMembers } from '@spock/protocol/internal';

import { type Place, placeOf } from '../../client/place.ts';
import { type ClientFlags, type SidecarTarget, targetOf, timeoutOf } from '../../client/sidecar-target.ts';
import { openClient } from '../../client/with-client.ts';
import { commandLine } from '../../output/command-name.ts';
import { CommandError, EXIT, print } from '../../output/output.ts';
import { lookOf, printPage } from '../../output/page.ts';
import { queryOf } from '../ask.ts';
import { nextStep } from '../next-step.ts';
import { checkRegistry } from './check-registry.ts';
import { checkRoute } from './check-route.ts';
import { checkInstances, checkService } from './check-service.ts';
import { checkRights, checkSidecar, deniedIn } from './check-sidecar.ts';
import { checkSocket } from './check-socket.ts';
import { type Diagnosis, type Finding, failed, formatDiagnosis, notCheckedFrom } from './diagnosis.ts';

/**
 * `sidecar doctor [SERVICE]`: the way of a lookup, step by step from the socket to an instance, with what to do where it ends. Gives the
 * exit code: 1 if a check has failed.
 */
export async function doctor(service: string | undefined, flags: ClientFlags): Promise<number> {
	const query = service === undefined ? undefined : queryOf(service, flags);
	if (query === undefined) refuseConditions(flags);
	const target = targetOf(flags);
	const checks = await diagnose(target, { query, timeoutMs: timeoutOf(flags), place: placeOf(process.env) });
	const isOk = checks.every(({ result }) => result !== 'failed');
	const diagnosis: Diagnosis = { ok: isOk, sidecar: target.name, service: service ?? null, checks };
	if (flags.json) print(JSON.stringify(diagnosis));
	else printPage(formatDiagnosis(diagnosis, lookOf(process.stdout)));
	return isOk ? EXIT.ok : EXIT.failure;
}

function refuseConditions(flags: object): void {
	const given = queryMembers.find(({ flag }) => Object.hasOwn(flags, flag));
	if (given !== undefined)
		throw new CommandError(EXIT.usage, `--${given.flag} needs a service: ${commandLine('doctor', 'SERVICE')}`);
}

interface Wanted {
	readonly query: ServiceQuery | undefined;
	readonly timeoutMs: number;
	readonly place: Place;
}

async function diagnose(target: SidecarTarget, wanted: Wanted): Promise<Finding[]> {
	const { timeoutMs, place } = wanted;
	const socket = await checkSocket(target, timeoutMs, place);
	if (socket.result === 'failed') return [socket, ...notCheckedFrom('sidecar', 'it needs the socket')];
	let client: Diplomat | undefined;
	try {
		const opened = await openClient(target, timeoutMs, 'sidecar doctor');
		client = opened.client;
		const { failure } = opened;
		return [
			socket,
			...(await asked(client, wanted).catch((error: unknown) => {
				throw failure(error);
			})),
		];
	} catch (error) {
		if (!(error instanceof CommandError)) throw error;
		return [
			socket,
			failed('sidecar', error.message, sidecarNext(place)),
			...notCheckedFrom('registry', 'it needs the sidecar'),
		];
	} finally {
		await client?.close();
	}
}

function sidecarNext({ isPod }: Place): string {
	return isPod ? "look at the sidecar's log and CPU limit: `kubectl logs POD -c sidecar`" : "look at the sidecar's log";
}

/** Everything that only the sidecar can say. */
async function asked(client: Diplomat, { query, timeoutMs, place }: Wanted): Promise<Finding[]> {
	const options = { timeoutMs };
	const first = await client.request('status', null, options);
	const explained = query === undefined ? undefined : await explain(client, query, options);
	const reason = explained?.error?.code === 'ACL_DENIED' ? explained.error.message : deniedIn(explained?.reply);
	const denied = reason === undefined ? undefined : `${query?.service} may not be read: ${reason}`;
	const rights = await checkRights(client, first, { denied, options });
	// Asked anew: only a query shows that a registry which was heard before has gone.
	const status = await client.request('status', null, options);
	const known = [checkSidecar(status), checkRegistry(status, place), rights];
	if (query === undefined || explained === undefined) {
		return [...known, ...notCheckedFrom('service', `name one: ${commandLine('doctor', 'SERVICE')}`)];
	}
	const { reply, error } = explained;
	// What was known before the rights were lost is served on.
	if (denied !== undefined && (reply?.source ?? null) === null) {
		return [...known, ...notCheckedFrom('service', 'it needs the rights')];
	}
	if (reply === undefined) {
		const service = failed('service', `${error?.code}: ${error?.message}`, 'see the registry above');
		return [...known, service, ...notCheckedFrom('instances', 'it needs the service')];
	}
	const isUnknown = reply.instanceCount === 0;
	const next = isUnknown ? await nextStep(client, query, options) : '';
	const service = checkService(reply, Date.now(), next);
	if (service.result === 'failed' || isUnknown) {
		return [...known, service, ...notCheckedFrom('instances', 'it needs the service')];
	}
	return [...known, service, checkInstances(reply), await checkRoute(reply.instances, timeoutMs, place)];
}

type Explained =
	| { readonly reply: ExplainReply; readonly error?: undefined }
	| { readonly reply?: undefined; readonly error: SpockError };

async function explain(client: Diplomat, query: ServiceQuery, options: CallOptions): Promise<Explained> {
	try {
		return { reply: await client.request('explain', query, options) };
	} catch (error) {
		// A lost connection is the sidecar's failure.
		if (!SpockError.is(error) || error.code === 'DISCONNECTED' || error.code === 'BAD_REQUEST') throw error;
		return { error };
	}
}
