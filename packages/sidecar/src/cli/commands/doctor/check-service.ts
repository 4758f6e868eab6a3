import type { ExplainReply, InstanceExplanation } from '@spock/protocol';
import { queryLabel } from '@spock/protocol/internal';
import { formatAddress } from '@spock/protocol/node';

import { commandLine } from '../../output/command-name.ts';
import { formatCount, formatDuration } from '../../output/figures.ts';
import { type Finding, failed, ok, warning } from './diagnosis.ts';

/** So many instances are named; `sidecar explain` shows all. */
const NAMED_MAX = 3;

/** Whether the service is known. `next`: what to do where it is not. */
export function checkService(reply: ExplainReply, wallNowMs: number, next: string): Finding {
	const { source, instanceCount, error, held, verifiedAt, refused = [], refusedCount = refused.length } = reply;
	const name = `${reply.service} ${queryLabel(reply)}`.trimEnd();
	if (source === null)
		return failed('service', `nothing is known of ${name}: ${error ?? 'no answer yet'}`, 'see the registry above');
	if (instanceCount === 0 && held === null && refusedCount === 0) {
		return failed('service', `no instance of ${name} is registered`, next);
	}
	const age = verifiedAt === 0 ? '' : `, confirmed ${formatDuration(wallNowMs - verifiedAt)} ago`;
	const text = `${name} has ${formatCount(instanceCount, 'instance')}${age}`;
	if (held !== null) {
		const gone = `the registry has returned none for ${formatDuration(held.forMs)}`;
		return warning(
			'service',
			`${text}; ${gone}, which is believed in ${formatDuration(held.endsInMs)}`,
			'check the registry now',
		);
	}
	if (source === 'last-known-good')
		return warning('service', `${text}: old answers are served`, 'see the registry above');
	const [first] = refused;
	if (first === undefined) return ok('service', text);
	const left = `${formatCount(refusedCount, 'entry').replace('entrys', 'entries')} left out: ${first.instance} ${first.reason}`;
	return warning('service', `${text}; ${left}`, 'register it anew, with a valid address and port');
}

/** How many instances get work, and why the others do not. */
export function checkInstances({ service, instances, instanceCount, panic }: ExplainReply): Finding {
	const served = instances.filter(({ included }) => included);
	const out = instances.filter(({ included }) => !included);
	const ill = served.filter(({ status }) => status !== 'passing');
	const text = `${served.length} of ${instances.length} get work`;
	const explain = `\`${commandLine('explain', service)}\` shows all`;
	const shown = instanceCount > instances.length ? `, of ${instanceCount}` : '';
	const worst = [...out, ...ill];
	if (worst.length === 0) return ok('instances', `${text}${shown}, all of them healthy`);
	const named = worst.slice(0, NAMED_MAX).map((one) => `${nameOf(one)}: ${one.reason}`);
	const more = worst.length > NAMED_MAX ? [`${worst.length - NAMED_MAX} more`] : [];
	const found = `${text}${shown}${panic ? ', as too few are healthy' : ''}; ${[...named, ...more].join('; ')}`;
	const next = `fix the instance or its check; ${explain}`;
	return served.length === 0 ? failed('instances', found, next) : warning('instances', found, next);
}

function nameOf(one: InstanceExplanation): string {
	const address = formatAddress({ host: one.host, port: one.port });
	return one.instance === address ? address : `${one.instance} at ${address}`;
}
