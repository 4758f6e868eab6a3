// The oldest pg that is tested; its types are those of the newest.
declare module 'pg-oldest' {
	import pg from 'pg';
	export default pg;
}
