/** The titles of a list of commands or processes. */
export function ListHead({ what }: { what: string }) {
  return (
    <thead>
      <tr>
        <th scope="col">Status</th>
        <th scope="col">{what}</th>
        <th scope="col" class="number">
          Exit code
        </th>
        <th scope="col" class="number">
          Age
        </th>
        <th scope="col" class="number">
          PID
        </th>
        <th scope="col">
          <span class="unseen">Actions</span>
        </th>
      </tr>
    </thead>
  );
}
