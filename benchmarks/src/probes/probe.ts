/** The process of one measurement that is not made of calls alone. Arguments: which, and what it needs. */
const [name = '', ...args] = process.argv.slice(2);

switch (name) {
	case 'lookups':
		await (await import('./lookups.ts')).probeLookups(args);
		break;
	case 'micro':
		await (await import('./micro.ts')).probeMicro();
		break;
	case 'allocations':
		await (await import('./allocations.ts')).probeAllocations();
		break;
	case 'watchers':
		await (await import('./watchers.ts')).probeWatchers(args);
		break;
	case 'consul-changes':
		await (await import('./consul-changes.ts')).probeConsulChanges(args);
		break;
	case 'subscribe':
		await (await import('./subscribe.ts')).probeSubscribe(args);
		break;
	case 'events':
		await (await import('./events.ts')).probeEvents(args);
		break;
	case 'events-fill':
		await (await import('./fill-events.ts')).fillEvents(args);
		break;
	case 'push-server':
		await (await import('./push-server.ts')).servePushes(args);
		break;
	default:
		throw new Error(`no probe is called ${name}`);
}
