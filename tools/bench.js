// `npm run bench`: measures calls beside their peers. `npm run bench NAME` measures something else: see SUBJECTS. What else is given
// goes to that bench: `npm run bench -- consul --quick`.
const SUBJECTS = {
	calls: 'calls over the wire and lookups in the process',
	consul: 'delay and cost of changes in Consul',
	events: 'messages to a store, and what is lost when processes are killed',
	grpc: 'gRPC workers under load',
	health: 'processor time of `sidecar health`',
	rolling: 'failed requests in rolling restarts',
	scale: 'thousands of sidecars, large services, node Spocks',
};

const [name = ''] = process.argv.slice(2);
const isNamed = Object.hasOwn(SUBJECTS, name);
if (isNamed) process.argv.splice(2, 1);
await import(`./bench-${isNamed ? name : 'calls'}.js`);
