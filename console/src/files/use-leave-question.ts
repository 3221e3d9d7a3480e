import { useEffect } from "preact/hooks";
import { useStore } from "../store.js";
import { isUnderWay, type Uploads } from "./uploads.js";

/** Has the browser ask before it leaves the page while files are uploaded: they would not be there. */
export function useLeaveQuestion(uploads: Uploads): void {
  const isBusy = useStore(uploads.store).some(isUnderWay);
  useEffect(() => {
    if (!isBusy) return;
    const ask = (event: BeforeUnloadEvent) => {
      event.preventDefault();
    };
    addEventListener("beforeunload", ask);
    return () => {
      removeEventListener("beforeunload", ask);
    };
  }, [isBusy]);
}
